// Tasks that learn to generate a target from a source with an encoder-decoder: summarization,
// translation and answers to questions.
#pragma once

#include "learn/tasks/seq2seq_settings.h"

namespace hone {

// Its head is refused with --streaming: H2414.
Task seq2seq_task(Seq2Seq q);

}  // namespace hone
