"""`make bench`: every measurement, each printed as ratios of one run."""

import bench.stage
from bench import samples, users

if __name__ == "__main__":
    with bench.stage.stage() as tenant:
        users.measure(tenant)
        samples.measure(tenant)
