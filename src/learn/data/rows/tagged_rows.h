// Rows of words with a label for each word: names in texts, parts of speech (run_ner).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "learn/data/rows/labelled_rows.h"

namespace hone {

// The tokens of a row of words, with the model's special tokens, cut to the length that is allowed.
struct EncodedWords {
  std::vector<int32_t> ids;
  std::vector<int32_t> word;  // by token: index of its word; -1: a special token
  bool cut = false;
};
using EncodeWords = std::function<Status(std::span<const std::vector<std::string>> rows,
                                         std::span<EncodedWords> out)>;

struct TagColumns {
  std::string words = {}, tags = {};  // empty: chosen
  std::string task = "ner";
  bool need_tags = true;  // false: rows to predict may lack them
};

// Rows whose labels are numbers of `seen`.
struct TaggedText {
  LabelledRows data;
  SeenLabels seen;
  LabelCounts counts;
  bool tagged = true;              // whether a column holds the labels
  std::string words, tags;         // the columns
  std::vector<std::string> names;  // of the labels, by number, if the files have them
  std::vector<bool> inside;        // by token: not the first of its word, and counted all the same
};

// Reads all rows of the files. The words of a row are a list of texts, from the column asked for, else
// `tokens`, else the first column. Its labels are a list of texts or whole numbers with the same
// length, from the column asked for, else <task>_tags, else the second column. The label of a word
// is that of its first token, with `all_tokens` of every token. -100 stands for no label.
// Errors: those of open_rows and of `encode`, H2109, H2110 a cell that is not such a list, H2113,
// H2123 lists that differ in length.
Result<TaggedText> read_tagged(const std::vector<std::string>& files, const RowOptions& options,
                               const TagColumns& columns, const EncodeWords& encode,
                               bool all_tokens);

// Classes for labels. Inside a word B-X becomes I-X where there is such a class. Errors: H2121.
Status number_tags(TaggedText& text, const LabelMap& map);

}  // namespace hone
