// Tokenizes the rows of a file and writes a line of JSON for each row, in order: {"ids":[...]} for a text, and
// {"ids":[...],"token_type_ids":[...]} for a pair. Holds two batches of rows in memory, whatever the size of the input.
#pragma once

#include "base/core/threads.h"
#include "learn/files/text_input.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

struct EncodeFileOptions {
  TextInputOptions input;  // the options with which the TextInput was opened
  EncodeOptions encode;
  TruncateOptions truncate;
  bool type_ids = false;  // true: write token_type_ids for single texts too
  int threads = 0;        // 0: one thread for each core
};

// Calls `sink` with one or more whole lines at a time, never from two threads at once. If a row causes an error, `sink`
// has already got the lines of all rows before it. Errors: those of the input (text_input.h, text_parser.h), of
// truncation and of `sink`.
Status encode_file(TextInput& input, const Tokenizer& tokenizer, const EncodeFileOptions& options,
                   FunctionRef<Status(std::string_view lines)> sink);

}  // namespace hone
