// Tasks that train an encoder-decoder to generate a target text from a source text: summarization, translation and
// answering questions.
#pragma once

#include "learn/tasks/seq2seq_settings.h"

namespace hone {

// Makes the task. Its choose_head returns H2414 with --streaming, which these tasks do not support.
Task seq2seq_task(Seq2Seq q);

}  // namespace hone
