#include "learn/tasks/row_outputs.h"

#include <algorithm>
#include <cmath>

#include "base/core/error.h"

namespace hone {

RowOutputs::RowOutputs(std::vector<std::string> names, const Form& form, Values values)
    : names_(std::move(names)),
      first_(form.first),
      width_(static_cast<size_t>(form.width)),
      outputs_(names_.size(), std::vector<float>(static_cast<size_t>(form.rows * form.width))),
      values_(std::move(values)) {}

bool RowOutputs::add(const CollatedRows& rows, const Batch& outputs) {
  for (size_t k = 0; k < names_.size(); ++k) {
    const auto all = outputs.get<const float>(names_[k]);
    for (size_t q = 0; q < rows.rows.rows.size(); ++q) {
      const auto own = all.subspan(q * width_, width_);
      if (!std::all_of(own.begin(), own.end(), [](float x) { return std::isfinite(x); }))
        return false;
      const auto row = static_cast<size_t>(rows.rows.rows[q] - first_);
      std::copy(own.begin(), own.end(),
                outputs_[k].begin() + static_cast<std::ptrdiff_t>(row * width_));
    }
  }
  return true;
}

OrderedJson RowOutputs::values(int64_t rows) const {
  return values_ ? values_(*this) : OrderedJson{{"samples", rows}};
}

const std::vector<float>& RowOutputs::of(const std::string& name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  HONE_BUG_IF(at == names_.end(), "no output {}", name);
  return outputs_[static_cast<size_t>(at - names_.begin())];
}

}  // namespace hone
