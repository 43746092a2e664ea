// Tasks that train an encoder-decoder to generate a target text from a source text: summarization, translation and
// answering questions.
#pragma once

#include "learn/tasks/seq2seq_settings.h"

namespace hone {

// Makes the task that `q` describes. These tasks do not support --streaming: with it, Task::choose_head returns H2414.
Task seq2seq_task(Seq2Seq q);

}  // namespace hone
