"""Measure beam search: what it learns and how fast, and what batches and threads bring (minibatch-2013).

`--task parse`, parsing from left to right on ud_english_ewt and wsj_sample_dep:

- `features`: the sets of templates, on the development part.
- `accuracy`: test scores with a beam of 8, beside graphs of first order with MIRA and the perceptron; three seeds.
- `beams`: beams of 1 to 64, with and without merging.
- `updates`: max-violation, early and standard updates, on the development part.
- `peers`: UDPipe, if it is installed, on English with labels.
- `speed`: sentences a second of training and of parsing; seconds a word of long sentences.
- `batches`: sizes of batches by passes and seconds, three seeds (Figure 2).
- `threads`: batches of 24 and `ipm` on 1 and 2 threads, measured, and on 4 to 16, computed (Figures 3, 4 and 8).

`--task tag`, parts of speech of brown_pos and conll2000, entities of conll2003_en and conll2002_es:

- `accuracy`: test scores of the averaged perceptron with first order, a beam of 8, and order 2; three seeds.
- `observations`: entities with and without transitions that look at the input, on the development part.
- `speed`: tokens a second of training and of tagging.
- `batches`, `threads`: as above, with the perceptron and a beam of 8 (Figures 5 to 8).
"""

from __future__ import annotations

from types import ModuleType

from harness import beam_parsing, beam_tagging
from harness.benchmark import Benchmark
from harness.command import Question

#: A module for each task: `SETS` are its data sets, `PARTS` its parts by name, which take the benchmark.
TASKS: dict[str, ModuleType] = {"parse": beam_parsing, "tag": beam_tagging}
PARTS = tuple(dict.fromkeys(part for task in TASKS.values() for part in task.PARTS))
SETS = tuple(dict.fromkeys(name for task in TASKS.values() for name in task.SETS))
QUESTION = Question("beam", __doc__, SETS, budget=(600.0, 5.0), threads=(1, 2), clock=True)


def main() -> None:
    parser = QUESTION.parser()
    parser.add_argument("--task", choices=TASKS, action="append", help="only this; may be repeated")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be repeated")
    benchmark = Benchmark(QUESTION, QUESTION.arguments(parser))
    chosen = benchmark.arguments
    for task in (TASKS[name] for name in chosen.task or TASKS):
        for part in (part for part in task.PARTS if part in (chosen.part or task.PARTS)):
            task.PARTS[part](benchmark)
    benchmark.end()


if __name__ == "__main__":
    main()
