// Reads questions with their contexts and answers. A row of the files is one question, or an article with paragraphs
// and their questions, as in SQuAD's files.
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
  // The right answers; empty: the question has no answer, or its answer is unknown.
  std::vector<std::string> answers;
};

struct QaQuestion {
  QaExample example;
  std::string question;
  // Index of the byte of the context at which answers[0] begins; nullopt: unknown.
  std::optional<size_t> answer_begin;
  std::string where;  // place of the row for messages: "train.csv:7"
};

// Names of the columns of files with a question in each row.
struct QaColumns {
  std::string question = "question", context = "context", answers = "answers";
};

class QaReader {
 public:
  // Opens the files, which all have the same form. Errors: those of open_rows; H2109 a column is missing; H2113 there
  // are no rows.
  static Result<QaReader> open(const std::vector<std::string>& files, const RowOptions& options,
                               const QaColumns& names = {});
  // Appends the questions of the next row to `out`. Returns false if there are no more rows. Errors: those of the row
  // reader; H2110 a cell has the wrong form; H2123 the context does not have the answer at answer_start.
  Result<bool> next(std::vector<QaQuestion>& out);
  const Row& row() const { return row_; }  // the row that next() read last

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
