"""How many examples hypothesis tries: few and always the same ones in `make test`, many and new ones in `make fuzz`."""

import os

from hypothesis import HealthCheck, settings

# An example that takes 10 seconds hangs.
COMMON = settings(deadline=10_000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
settings.register_profile("short", COMMON, max_examples=150, derandomize=True)
settings.register_profile("long", COMMON, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))
