// Copies a data file, unchanged or with lists of texts in some columns replaced by one text.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

// Replaces lists of texts in the rows of json and jsonl files by one text.
class TextColumns {
 public:
  // `joined` and `first` are names of columns. A list of texts in a column of `joined` is replaced by one text: all its
  // texts with a blank between two. A list of texts in a column of `first` is replaced by its first text.
  TextColumns(const std::vector<std::string>& joined, const std::vector<std::string>& first)
      : joined_(joined.begin(), joined.end()), first_(first.begin(), first.end()) {}
  bool any() const { return !joined_.empty() || !first_.empty(); }
  // Changes a row. Other values than lists of texts, and empty lists, stay as they are.
  void change(OrderedJson& row);

  // A column in which the lists of `rows` rows were replaced. joined: true: by all their texts; false: by the first.
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
// ends with .jsonl or .json. Errors: those of the store, and of JSON that cannot be parsed.
Status copy_data_file(const std::string& from, const std::string& to, TextColumns& columns);

}  // namespace hone
