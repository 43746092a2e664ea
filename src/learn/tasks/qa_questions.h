// Questions with their contexts and answers, from flat rows or SQuAD's own form.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/data/formats/rows.h"

namespace hone {

struct QaExample {
  std::string id, context;
  std::vector<std::string> answers;  // references; empty: none
};

struct QaQuestion {
  QaExample example;
  std::string question;
  std::optional<size_t> answer_begin;  // a byte of the context
  std::string where;
};

// Names of the columns of flat rows.
struct QaColumns {
  std::string question = "question", context = "context", answers = "answers";
};

// One file, or several: flat rows, or articles.
class QaReader {
 public:
  // Errors: those of open_rows, H2109, H2113.
  static Result<QaReader> open(const std::vector<std::string>& files, const RowOptions& options,
                               const QaColumns& names = {});
  // Adds the questions of the next row; false after the last one. Errors: those of the reader; H2110 a cell of
  // another form, H2123 an answer that is not at its place.
  Result<bool> next(std::vector<QaQuestion>& out);
  const Row& row() const { return row_; }

 private:
  Result<Json> json_of(size_t column, const char* what) const;
  Result<bool> next_row(std::vector<QaQuestion>& out);
  Result<bool> next_article(std::vector<QaQuestion>& out);

  std::unique_ptr<RowReader> rows_;
  Row row_;
  std::optional<size_t> paragraphs_, id_, question_, context_, answers_;
  int64_t count_ = 0;
};

}  // namespace hone
