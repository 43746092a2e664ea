// A finding of `hone check`: its severity, a description, a place, and what to do.
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
  // A stable name for scripts, such as "duplicate_rows"; if the finding is an Error, its code, such as "H2101".
  std::string id;
  // what: one sentence, such as "train: 3 of 20 rows are empty". where: the place; "": none. todo: the remedy; "":
  // none.
  std::string what, where, todo;
};

class Findings {
 public:
  void add(Finding finding) { list_.push_back(std::move(finding)); }
  void add(FindingLevel level, std::string id, std::string what, std::string where = "",
           std::string todo = "") {
    add({level, std::move(id), std::move(what), std::move(where), std::move(todo)});
  }
  void add(const Error& error);  // with the level kError
  // Turns the findings of the level kError that have this id into warnings. Findings that are added later keep their
  // level.
  void allow(std::string_view id);
  // Adds the Error of a status as a finding, if it has one. Returns true if the status is Ok.
  bool passed(const Status& status);

  const std::vector<Finding>& all() const { return list_; }
  int64_t count(FindingLevel level) const;
  // The findings as text: errors, then warnings, then notes, each in the order in which they were added. A finding is
  // "error   ids_outside_vocabulary: <what>\n  at   <where>\n  do   <todo>\n"; a line whose text is empty is left out.
  // `color`: true: the level has a terminal color.
  std::string text(bool color) const;
  // A list of objects {"level", "id", "what", "where", "do"} in the order in which the findings were added.
  OrderedJson json() const;

 private:
  std::vector<Finding> list_;
};

}  // namespace hone
