// Tokenizes rows of text and groups the tokens into rows to train on, a batch at a time. Between batches the position
// of the reader can be saved; a reader that continues from the saved position gives the same rows.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/core/json.h"
#include "learn/data/formats/rows.h"
#include "learn/data/rows/token_rows.h"

namespace hone {

// Tokenizes a batch of texts: sets ids[i] to the tokens of texts[i], with the special tokens that the tokenizer adds.
using Tokenize = std::function<Status(std::span<const std::string_view> texts,
                                      std::vector<std::vector<int32_t>>& ids)>;

// The position of the next batch.
struct TextPosition {
  RowPosition at;  // position of the RowReader
  // Number of rows that the RowReader returned before this position, including rows before TextOptions::first_row.
  int64_t rows = 0;
  bool ended = false;  // all rows were read
  TextState state;     // tokens and counts of the TextBuilder

  Json to_json() const;
};
// The inverse of to_json(). `name` is the file in messages. Errors: H2102 the JSON is not a position.
Result<TextPosition> position_from_json(const Json& json, const std::string& name);

// Checks that reading gave at least one row to train on. `counts` has the counts of the TextBuilder, and `kept` is the
// number of rows or blocks that are used. Errors: H2113 the data has no rows, or with Grouping::kRows no row has at
// least two tokens; H2114 with Grouping::kBlocks the tokens do not fill one block.
Status check_some_rows(const TextCounts& counts, const TextOptions& options, int64_t kept);

class TextReader {
 public:
  TextReader(std::unique_ptr<RowReader> rows, const TextOptions& options, Tokenize tokenize);

  // Reads the next batch (1,000 rows of text or 8 MiB, batch.h) and appends to `out` the rows that it completes,
  // which may be none. Returns false if no batch is left to read. The size of a batch does not affect the rows.
  // Errors: those of the reader and of `tokenize`; H2110 a cell holds neither text nor a list of token ids.
  Result<bool> read(TokenRows& out);

  // The position of the next batch, to save.
  TextPosition place() const;
  // Continues from a saved position of a reader with the same rows and options. Errors: those of RowReader::seek.
  Status seek(const TextPosition& place);
  const TextCounts& counts() const { return builder_.state().counts; }
  // check_some_rows() with the counts so far.
  Status check_some(int64_t kept) const { return check_some_rows(counts(), options_, kept); }

 private:
  Status flush(TokenRows& out);

  std::unique_ptr<RowReader> reader_;
  TextOptions options_;
  Tokenize tokenize_;
  TextBuilder builder_;
  int64_t rows_ = 0;
  bool ended_ = false;
  std::vector<std::string> texts_;  // the texts of the batch
  std::vector<RowOrigin> places_;   // the place of each text
};

struct TextData {
  TokenRows rows;
  TextCounts counts;
};

// Reads all rows. Errors: those of TextReader::read and check_some_rows.
Result<TextData> read_text_rows(std::unique_ptr<RowReader> rows, const TextOptions& options,
                                const Tokenize& tokenize);

}  // namespace hone
