"""One process of a concurrency test: many tasks that call at once.

Usage: hammer.py REDIS_URL STOPPED_CLOCK TASKS CALLS KEY=per_second:per_minute:per_day:monthly ...
Prints the admitted calls of each key. It begins when the list `go` gets an element.
"""

from __future__ import annotations

import asyncio
import json
import sys
from unittest import mock

import redis.asyncio

from serve.auth.limits import redis as module
from serve.auth.limits.counts import RateLimit


async def main() -> None:
    url, stopped, tasks, calls, *keys = sys.argv[1:]
    if stopped == "stopped":
        # 2100-01-01 for ever: the second never rolls.
        script = module.SCRIPT.replace("redis.call('TIME')", "{'4102444800', '0'}")
        mock.patch.object(module, "SCRIPT", script).start()
    limiter = module.RedisLimiter(url, "hammer", wait_s=30.0)  # the machine may be slow
    admitted = {}
    async with redis.asyncio.Redis.from_url(url, socket_timeout=60) as client:
        await client.rpush("ready", "1")
        await client.blpop(["go"], timeout=60)
    for entry in keys:
        key, _, limits = entry.partition("=")
        second, minute, day, month = (int(number) for number in limits.split(":"))
        rate = RateLimit((second, minute, day, month))

        async def caller(key: str = key, rate: RateLimit = rate) -> int:
            statuses = [await limiter.hit(key, rate) for _ in range(int(calls))]
            return sum(status.refused is None for status in statuses)

        admitted[key] = sum(await asyncio.gather(*[caller() for _ in range(int(tasks))]))
    await limiter.close()
    sys.stdout.write(json.dumps(admitted))


if __name__ == "__main__":
    asyncio.run(main())
