// Turns text rows from a reader into token rows, a batch at a time, so that it can stop between
// batches and continue later from a saved place, with the same rows.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/core/json.h"
#include "learn/data/formats/rows.h"
#include "learn/data/rows/token_rows.h"

namespace hone {

// ids[i] becomes the tokens of texts[i], with the special tokens that the tokenizer adds.
using Tokenize = std::function<Status(std::span<const std::string_view> texts,
                                      std::vector<std::vector<int32_t>>& ids)>;

// The place of the next batch.
struct TextPosition {
  RowPosition at;    // of the reader
  int64_t rows = 0;  // that it gave, with those before TextOptions::first_row
  bool ended = false;
  TextState state;

  Json to_json() const;
};
// `name` (a file) appears in messages. Errors: H2102.
Result<TextPosition> position_from_json(const Json& json, const std::string& name);

// Checks that text gave rows; `kept`: their number. H2113: the files have no rows. H2114: their tokens
// do not fill one block.
Status check_some_rows(const TextCounts& counts, const TextOptions& options, int64_t kept);

class TextReader {
 public:
  TextReader(std::unique_ptr<RowReader> rows, const TextOptions& options, Tokenize tokenize);

  // Appends to `out` the rows that the next batch completes (about 1,000 rows of text or 8 MiB),
  // perhaps none; false when there is no next batch. The size of a batch changes no row.
  // Errors: those of the reader and of `tokenize`, H2110.
  Result<bool> read(TokenRows& out);

  TextPosition place() const;
  Status seek(const TextPosition& place);
  const TextCounts& counts() const { return builder_.state().counts; }
  Status check_some(int64_t kept) const { return check_some_rows(counts(), options_, kept); }

 private:
  Status flush(TokenRows& out);

  std::unique_ptr<RowReader> reader_;
  TextOptions options_;
  Tokenize tokenize_;
  TextBuilder builder_;
  int64_t rows_ = 0;
  bool ended_ = false;
  std::vector<std::string> texts_;  // of the batch
  std::vector<RowOrigin> places_;   // of these
};

struct TextData {
  TokenRows rows;
  TextCounts counts;
};

// All rows at once. Errors: those of TextReader.
Result<TextData> read_text_rows(std::unique_ptr<RowReader> rows, const TextOptions& options,
                                const Tokenize& tokenize);

}  // namespace hone
