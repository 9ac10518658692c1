"""Names the semaphores of SGLang's processes after our run, so that they can be removed after it.

multiprocessing makes named semaphores in /dev/shm, with random names, and removes them at a
process's ordinary end. Ours are killed. Python imports this module at every interpreter's start.
"""

import os
from multiprocessing import process

if prefix := os.environ.get("PDCHAOS_SEMAPHORES"):
    vars(process.current_process())["_config"]["semprefix"] = prefix  # children inherit it
