{{- define "restante.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{- define "restante.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "restante.labels" -}}
{{ include "restante.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* The pod of a node, the same in a StatefulSet and in a Deployment. */}}
{{- define "restante.pod" -}}
metadata:
  labels:
    {{- include "restante.selector" . | nindent 4 }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  # The cluster's variables for services would begin with RESTANTE_, as the settings do.
  enableServiceLinks: false
  # Running requests have ten seconds.
  terminationGracePeriodSeconds: 20
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: restante
      image: "{{ required "image.repository: where the image is" .Values.image.repository }}:
        {{- .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      env:
        {{- include "restante.env" . | nindent 8 }}
      ports:
        - { name: http, containerPort: 8025 }
        - { name: smtp, containerPort: 1025 }
        {{- if .Values.metrics.enabled }}
        - { name: metrics, containerPort: 9025 }
        {{- end }}
      # A start may migrate the database first.
      startupProbe:
        httpGet: { path: /v1/health, port: http }
        periodSeconds: 2
        failureThreshold: 150
      readinessProbe:
        httpGet: { path: /v1/health, port: http }
        periodSeconds: 5
        timeoutSeconds: 5
      # Only the port: a restart does not help against a database that is down.
      livenessProbe:
        tcpSocket: { port: http }
        periodSeconds: 20
        timeoutSeconds: 5
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /data }
        {{- if .Values.tlsSecret }}
        - { name: tls, mountPath: /tls, readOnly: true }
        {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if or .Values.tlsSecret .Values.postgresql.url }}
  volumes:
    {{- if .Values.postgresql.url }}
    # For the certificate that the node makes; everything else is in PostgreSQL.
    - name: data
      emptyDir: {}
    {{- end }}
    {{- with .Values.tlsSecret }}
    - name: tls
      secret: { secretName: {{ . }}, defaultMode: 0440 }
    {{- end }}
  {{- end }}
{{- end }}

{{- define "restante.env" -}}
- name: RESTANTE_MAIL_DOMAIN
  value: {{ .Values.mailDomain | quote }}
- name: RESTANTE_BASE_URL
  value: {{ include "restante.url" . | quote }}
- name: RESTANTE_OUTBOUND
  value: {{ .Values.outbound | quote }}
{{- if .Values.metrics.enabled }}
- name: RESTANTE_METRICS_LISTEN
  value: 0.0.0.0:9025
{{- end }}
{{- with .Values.tlsSecret }}
- name: RESTANTE_TLS_CERT
  value: /tls/tls.crt
- name: RESTANTE_TLS_KEY
  value: /tls/tls.key
{{- end }}
{{- with .Values.postgresql.url }}
- name: RESTANTE_DATABASE
  value: {{ . | quote }}
{{- end }}
{{- if .Values.postgresql.passwordSecret }}
- name: PGPASSWORD
  valueFrom:
    secretKeyRef: { name: {{ .Values.postgresql.passwordSecret }}, key: {{ .Values.postgresql.passwordKey }} }
{{- end }}
{{- with .Values.existingSecret }}
- name: RESTANTE_API_KEY
  valueFrom:
    secretKeyRef: { name: {{ . }}, key: api-key }
- name: RESTANTE_ADMIN_TOKEN
  valueFrom:
    secretKeyRef: { name: {{ . }}, key: admin-token }
{{- end }}
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "restante.url" -}}
{{- if .Values.baseUrl }}{{ .Values.baseUrl }}
{{- else if .Values.ingress.enabled }}
{{- ternary "https" "http" (not (empty .Values.ingress.tlsSecret)) }}://{{ .Values.ingress.host }}
{{- else }}http://{{ include "restante.name" . }}.{{ .Release.Namespace }}:{{ .Values.service.httpPort }}
{{- end }}
{{- end }}
