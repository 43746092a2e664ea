// A data file copied as it is, or with lists of texts replaced by one text.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

// Columns of json and jsonl files that must hold texts.
class TextColumns {
 public:
  // A list in a column of `joined` becomes its texts with blanks between them, one in a column of
  // `first` its first text.
  TextColumns(const std::vector<std::string>& joined, const std::vector<std::string>& first)
      : joined_(joined.begin(), joined.end()), first_(first.begin(), first.end()) {}
  bool any() const { return !joined_.empty() || !first_.empty(); }
  void change(OrderedJson& row);

  struct Changed {
    std::string column;
    int64_t rows = 0;
    bool joined = false;
  };
  std::vector<Changed> changed() const;  // so far

 private:
  std::set<std::string> joined_, first_;
  std::map<std::string, int64_t> changed_;  // rows, by column
};

// `from` and `to` are places of file_store(). Errors: those of the store, and of JSON that cannot
// be parsed.
Status copy_data_file(const std::string& from, const std::string& to, TextColumns& columns);

}  // namespace hone
