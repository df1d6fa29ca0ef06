"""The edge: kopf watches, kubernetes.aio acts, aiohttp asks for progress and answers probes."""
