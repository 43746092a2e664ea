// Copies a data file, either unchanged, or so that each list of texts in some columns is replaced by one text.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

// Replaces each list of texts in some columns of json and jsonl files by one text.
class TextColumns {
 public:
  // `joined` and `first` are names of columns. A list of texts in a column of `joined` is replaced by one text: all
  // texts of the list, joined with blanks. A list of texts in a column of `first` is replaced by its first text.
  TextColumns(const std::vector<std::string>& joined, const std::vector<std::string>& first)
      : joined_(joined.begin(), joined.end()), first_(first.begin(), first.end()) {}
  bool any() const { return !joined_.empty() || !first_.empty(); }
  // Changes a row. Empty lists, and values that are not lists of texts, stay as they are.
  void change(OrderedJson& row);

  // A column in which the lists of `rows` rows were replaced. `joined` is true if each list was replaced by all its
  // texts, false if by its first text.
  struct Changed {
    std::string column;
    int64_t rows = 0;
    bool joined = false;
  };
  std::vector<Changed> changed() const;  // the columns that were changed so far

 private:
  std::set<std::string> joined_, first_;
  std::map<std::string, int64_t> changed_;  // number of changed rows, by column
};

// Copies `from` to `to`, which are paths or URLs of file_store(). Changes the rows by `columns` if the name of `to`
// ends with .jsonl or .json. Errors: those of the store; those of the JSON parser.
Status copy_data_file(const std::string& from, const std::string& to, TextColumns& columns);

}  // namespace hone
