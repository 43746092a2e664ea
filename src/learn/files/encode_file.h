// Turns each row of text into one line of ids, in order: {"ids":[...]}; of a pair
// {"ids":[...],"token_type_ids":[...]}. Memory is that of two batches, whatever the size of the
// input.
#pragma once

#include "base/core/threads.h"
#include "learn/files/text_input.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

struct EncodeFileOptions {
  TextInputOptions input;  // that `input` was opened with
  EncodeOptions encode;
  TruncateOptions truncate;
  bool type_ids = false;  // for single texts too
  int threads = 0;        // 0: a thread for each core
};

// `sink` gets whole lines, one call after the other. After an error it has got the lines before the
// row that made it. Errors: those of the input (text_input.h, text_parser.h), of truncation and of
// the sink.
Status encode_file(TextInput& input, const Tokenizer& tokenizer, const EncodeFileOptions& options,
                   FunctionRef<Status(std::string_view lines)> sink);

}  // namespace hone
