#!/bin/bash
# Heap and collector as the variables say, else what Kafka's own script gives.
log4j=${KAFKA_LOG4J_OPTS:--Dlog4j2.configurationFile=/opt/kafka/config/tools-log4j2.yaml}
exec java ${KAFKA_HEAP_OPTS:--Xmx256M} ${KAFKA_JVM_PERFORMANCE_OPTS:--XX:+UseG1GC} "$log4j" -cp '/opt/kafka/libs/*' "$@"
