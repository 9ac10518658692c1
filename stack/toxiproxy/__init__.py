"""An embedded Toxiproxy: the HTTP API and the toxics of Toxiproxy v2.12.0, for machines without it.

Map: `toxics/` what each toxic does with a chunk; `pipe` the words a toxic speaks; `stage` one
toxic at work on one flow; `flow` one direction of a connection; `ends` the two sockets;
`connection`, `proxy`, `proxies` who is connected to whom; `toxic_chain` the toxics of a proxy;
`go_json` what the API accepts; `http_api` the API itself; `metrics_page` the byte counters.

Known differences from the real one, all on purpose: a chain can be changed while a reader is
stuck (the real API blocks up to 25 s, then drops what it held 5 s); a negative bandwidth is no
panic but a stall; an empty listen address means loopback.
"""
