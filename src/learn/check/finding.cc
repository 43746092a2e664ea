#include "learn/check/finding.h"

#include <algorithm>

#include "base/core/text.h"

namespace hone {
namespace {

constexpr FindingLevel kLevels[] = {FindingLevel::kError, FindingLevel::kWarning,
                                    FindingLevel::kNote};
constexpr const char* kNames[] = {"error", "warning", "note"};
constexpr const char* kColors[] = {"\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m"};

}  // namespace

void Findings::add(const Error& error) {
  add(FindingLevel::kError, error.code(), error.what(), join(error.where(), "; "), error.remedy());
}

bool Findings::passed(const Status& status) {
  if (!status.ok()) add(status.error());
  return status.ok();
}

int64_t Findings::count(FindingLevel level) const {
  return std::count_if(list_.begin(), list_.end(),
                       [&](const Finding& f) { return f.level == level; });
}

std::string Findings::text(bool color) const {
  std::string text;
  for (const FindingLevel level : kLevels) {
    const auto k = static_cast<size_t>(level);
    for (const Finding& f : list_) {
      if (f.level != level) continue;
      text += fmt::format("{}{:<7}{} {}: {}\n", color ? kColors[k] : "", kNames[k],
                          color ? "\x1b[0m" : "", f.id, f.what);
      if (!f.where.empty()) text += fmt::format("  at   {}\n", f.where);
      if (!f.todo.empty()) text += fmt::format("  do   {}\n", f.todo);
    }
  }
  return text;
}

void Findings::allow(std::string_view id) {
  for (Finding& f : list_)
    if (f.id == id && f.level == FindingLevel::kError) f.level = FindingLevel::kWarning;
}

OrderedJson Findings::json() const {
  OrderedJson list = OrderedJson::array();
  for (const Finding& f : list_)
    list.push_back({{"level", kNames[static_cast<size_t>(f.level)]},
                    {"id", f.id},
                    {"what", f.what},
                    {"where", f.where},
                    {"do", f.todo}});
  return list;
}

}  // namespace hone
