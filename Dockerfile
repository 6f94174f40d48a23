# The package as `npm pack` makes it, with its production dependencies; nothing of the checkout.
# By its digest: the tag alone may be moved to another image.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
FROM $NODE_IMAGE AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# From the lockfile, and before the sources: a change of those downloads nothing. Optional dependencies are Node 24 itself, for machines
# that have an older one, and the Postgres of `demo` and `dev`.
RUN npm ci --ignore-scripts --omit=dev --omit=optional --no-audit --no-fund

FROM $NODE_IMAGE AS build
WORKDIR /build
# npm links the package into its own node_modules, and with it what `bin` names.
COPY package.json package-lock.json .npmrc ./
COPY bin bin
# The build needs no install script of any dependency, so none is run. esbuild's program comes as an optional dependency.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm pack --pack-destination /tmp \
 && mkdir /app \
 && tar -xzf /tmp/tidemark-*.tgz -C /app --strip-components=1
COPY --from=dependencies /app/node_modules /app/node_modules

FROM $NODE_IMAGE
LABEL org.opencontainers.image.title="Tidemark" \
      org.opencontainers.image.description="Follows a brokerage's order streams, keeps every order's newest state in Postgres, and feeds every accepted change to Kafka" \
      org.opencontainers.image.licenses="Apache-2.0"
# Refuses unencrypted addresses of the platform; docker-compose.yml says otherwise for its sandbox.
ENV NODE_ENV=production
# Owned by root: the service can't change what it runs.
COPY --from=build /app /app
WORKDIR /app
# `node` of the base image, by number: an orchestrator that asks for a user other than root can't resolve a name.
USER 1000:1000
EXPOSE 8080 9464
# No shell in between: signals reach the service.
ENTRYPOINT ["node", "/app/bin/tidemark.js"]
CMD ["serve"]
