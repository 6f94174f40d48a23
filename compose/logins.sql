-- Run by the image of Postgres once, in a new volume, before `tidemark migrate`. The service signs in as a member of tidemark_app, which may not change a table
-- (docs/security.md). `migrate` makes that group where it is missing; here it has to be there first.
\getenv password SERVICE_PASSWORD
create role tidemark_app nologin;
create role tidemark_service login password :'password' in role tidemark_app;
