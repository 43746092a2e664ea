#include "learn/harness/mrpc_dev_ids.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/formats/errors.h"

namespace hone {
namespace {

class PickedRows : public RowReader {
 public:
  PickedRows(std::unique_ptr<RowReader> rows, std::set<std::string> ids, bool evaluated)
      : rows_(std::move(rows)), ids_(std::move(ids)), evaluated_(evaluated) {}

  Status find_columns() {
    const std::vector<std::string>& names = rows_->columns();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string name = fmt::format("#{} ID", i + 1);
      const auto at = std::find(names.begin(), names.end(), name);
      if (at == names.end())
        return Error(err::kNoColumn,
                     fmt::format("the data has no column '{}', by which the rows of "
                                 "the validation set are known",
                                 name))
            .todo(fmt::format("its columns are {}", join(names, ", ")));
      columns_[i] = static_cast<size_t>(at - names.begin());
    }
    return Ok{};
  }

  const std::vector<std::string>& columns() const override { return rows_->columns(); }
  Result<bool> next(Row& row) override {
    while (HONE_TRY(rows_->next(row))) {
      const std::string first(HONE_TRY(cell_text(row, columns_[0], "#1 ID")));
      const std::string second(HONE_TRY(cell_text(row, columns_[1], "#2 ID")));
      if (ids_.contains(first + "\t" + second) == evaluated_) return true;
    }
    return false;
  }
  RowPosition position() const override { return rows_->position(); }
  LabelNames label_names() const override { return rows_->label_names(); }
  Status seek(const RowPosition& position) override { return rows_->seek(position); }

 private:
  std::unique_ptr<RowReader> rows_;
  std::set<std::string> ids_;  // "702876\t702977"
  bool evaluated_;
  std::array<size_t, 2> columns_{};
};

}  // namespace

Result<std::unique_ptr<RowReader>> pick_by_dev_ids(std::unique_ptr<RowReader> rows,
                                                   const std::string& dev_ids, bool evaluated) {
  const std::string text = HONE_TRY(file_store().read(dev_ids));
  std::set<std::string> ids;
  for (const std::string& line : split(text, '\n')) ids.emplace(trim(line));
  auto picked = std::make_unique<PickedRows>(std::move(rows), std::move(ids), evaluated);
  HONE_TRY(picked->find_columns());
  return std::unique_ptr<RowReader>(std::move(picked));
}

}  // namespace hone
