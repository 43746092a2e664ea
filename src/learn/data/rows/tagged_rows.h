// Reads rows of words with a label for each word, for token classification: named entities, parts of speech. The rules
// are those of run_ner of Transformers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "learn/data/rows/labelled_rows.h"

namespace hone {

// The tokens of a row of words, with the model's special tokens. A row with more tokens than allowed is cut.
struct EncodedWords {
  std::vector<int32_t> ids;
  // word[i]: the index of the word that token i belongs to; -1: a special token.
  std::vector<int32_t> word;
  bool cut = false;
};
// Tokenizes a batch of rows; out[i] is for rows[i].
using EncodeWords = std::function<Status(std::span<const std::vector<std::string>> rows,
                                         std::span<EncodedWords> out)>;

struct TagColumns {
  std::string words = {}, tags = {};  // the columns of words and labels; "": read_tagged chooses
  std::string task = "ner";           // the usual column of labels is <task>_tags, here `ner_tags`
  bool need_tags = true;              // false: rows to predict, which may have no labels
};

// Rows whose labels have no class ids yet: data.labels.tags has the numbers that the labels have in `seen`.
// number_tags replaces these by class ids.
struct TaggedText {
  LabelledRows data;
  SeenLabels seen;
  LabelCounts counts;
  bool tagged = true;       // the data has a column of labels
  std::string words, tags;  // the names of the columns that were read
  // The names of the classes 0, 1, ... in the files (ClassLabel); empty: none.
  std::vector<std::string> names;
  // inside[t], where t counts the tokens of all rows: true if token t has a label and is not the first token of its
  // word, which is possible only with `all_tokens`.
  std::vector<bool> inside;
};

// Reads and tokenizes all rows of the files. The words of a row are a list of texts in the column columns.words; if
// that is "", in the column `tokens`, else in the first column. The labels of a row are a list of texts or whole
// numbers, as long as the list of words, in the column columns.tags; if that is "", in the column <task>_tags, else in
// the second column. A label -100 means no label.
//
// The first token of a word gets the label of the word, and its other tokens get kIgnoreLabel. With `all_tokens` all
// tokens of the word get its label.
//
// Errors: those of open_rows and of `encode`; H2109 a column does not exist; H2110 a cell is not such a list; H2113
// there are no rows; H2123 a row has different numbers of words and labels.
Result<TaggedText> read_tagged(const std::vector<std::string>& files, const RowOptions& options,
                               const TagColumns& columns, const EncodeWords& encode,
                               bool all_tokens);

// Replaces the labels by the class ids of `map`. For tokens with TaggedText::inside, a class B-X becomes I-X if the
// map has I-X. Errors: H2121 a label is not in the map.
Status number_tags(TaggedText& text, const LabelMap& map);

}  // namespace hone
