// .pkl, .pickle: a pandas DataFrame, a list of dicts or a dict of lists. The whole file is held in
// memory, as pandas holds it; nothing in it runs.
#include "learn/data/formats/pandas_frame.h"
#include "learn/data/formats/rows.h"

namespace hone {
namespace {

class PickleReader final : public RowReader {
 public:
  explicit PickleReader(std::unique_ptr<Source> source) : source_(std::move(source)) {}

  Status open() {
    pickle_ = std::make_unique<Pickle>(HONE_TRY(Pickle::read(source_->bytes(), source_->name())));
    table_ = HONE_TRY(read_pickled_table(*pickle_, source_->name()));
    return Ok{};
  }

  const std::vector<std::string>& columns() const override { return table_.names; }

  Result<bool> next(Row& row) override {
    if (at_ >= table_.rows) return false;
    row.cells.resize(table_.columns.size());
    for (size_t c = 0; c < table_.columns.size(); ++c) {
      Result<Cell> cell = table_.columns[c]->cell(at_);
      if (!cell.ok())
        return std::move(cell.error()
                             .at(fmt::format("column '{}'", table_.names[c]))
                             .at(fmt::format("{} row {}", source_->name(), at_ + 1)));
      row.cells[c] = std::move(*cell);
    }
    row.file = source_->name();
    row.line = ++at_;
    row.line_is_row = true;
    ++rows_;
    return true;
  }
  RowPosition position() const override { return {0, at_, 1, rows_}; }
  Status seek(const RowPosition& to) override {
    at_ = to.offset;
    rows_ = to.row;
    return Ok{};
  }

 private:
  std::unique_ptr<Source> source_;
  std::unique_ptr<Pickle> pickle_;  // its values point to it
  PickledTable table_;
  int64_t at_ = 0, rows_ = 0;
};

Result<std::unique_ptr<RowReader>> open_pickle(std::unique_ptr<Source> source, const RowOptions&) {
  if (source->bytes().data() == nullptr || !source->path().empty())
    source = HONE_TRY(in_memory(std::move(source)));
  auto reader = std::make_unique<PickleReader>(std::move(source));
  HONE_TRY(reader->open());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace

Format format_pickle() {
  return {"pickle",
          {"pkl", "pickle"},
          "a pandas DataFrame, a list of dicts or a dict of lists; nothing in it runs",
          open_pickle};
}

}  // namespace hone
