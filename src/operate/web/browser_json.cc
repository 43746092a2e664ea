#include "operate/web/browser_json.h"

#include <cmath>

#include "base/core/redact.h"

namespace hone {
namespace {

OrderedJson readable(OrderedJson value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>()))
    return double_text(value.get<double>());
  if (value.is_structured())
    for (OrderedJson& member : value) member = readable(std::move(member));
  return value;
}

}  // namespace

std::string browser_json(const OrderedJson& value) {
  return dump_json(readable(redact_secrets(value)));
}

std::string browser_rows_json(const OrderedJson& rows) { return dump_json(readable(rows)); }

}  // namespace hone
