// A finding of a check: severity, what, where, what to do.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

enum class FindingLevel {
  kError,    // the run fails, or its result is useless
  kWarning,  // the run works, but probably not as intended
  kNote,     // worth knowing
};

struct Finding {
  FindingLevel level = FindingLevel::kNote;
  std::string id;                 // "duplicate_rows": for scripts, stable; of an Error its code
  std::string what, where, todo;  // `where` and `todo` may be empty
};

class Findings {
 public:
  void add(Finding finding) { list_.push_back(std::move(finding)); }
  void add(FindingLevel level, std::string id, std::string what, std::string where = "",
           std::string todo = "") {
    add({level, std::move(id), std::move(what), std::move(where), std::move(todo)});
  }
  void add(const Error& error);     // level kError
  void allow(std::string_view id);  // errors with this id become warnings
  // Adds the Error of a status, if it has one; returns whether it was Ok.
  bool passed(const Status& status);

  const std::vector<Finding>& all() const { return list_; }
  int64_t count(FindingLevel level) const;
  // Errors first, in the order found; "error    duplicate_rows  what\n  at   ...\n  do   ...".
  std::string text(bool color) const;
  OrderedJson json() const;

 private:
  std::vector<Finding> list_;
};

}  // namespace hone
