"""The verbs of the command over HTTP, with server-sent events and a page that shows a cluster live.

| module | contents |
|---|---|
| `server` | addresses, TLS, and a run until a signal |
| `application` | the routes |
| `access` | tokens, roles, and protection from other web pages |
| `arguments` | query parameters and JSON objects as arguments of verbs |
| `schemas`, `openapi` | JSON Schemas of arguments and rows; the OpenAPI document |
| `change_feed` | what changes in the cluster, as server-sent events |
| `responses` | rows and errors as JSON, and their statuses |
| `page` | the page, as static files |
"""
