// Any bytes: an Error, or a tree whose every value can be asked for everything.
#include "learn/pickle/pickle.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto pickle = Pickle::read(bytes, "fuzz.pkl");
  if (!pickle.ok()) {
    HONE_BUG_IF(pickle.error().text().empty(), "an error without text");
    return 0;
  }
  HONE_BUG_IF(pickle->bytes() > static_cast<int64_t>(size), "more bytes read than there are");
  // Walks at most 10,000 values: they may hold themselves.
  std::vector<PickleValue> left = {pickle->root()};
  size_t sum = 0;
  for (int n = 0; n < 10'000 && !left.empty(); ++n) {
    const PickleValue v = left.back();
    left.pop_back();
    sum += v.text().size() + v.global().size() + static_cast<size_t>(v.integer());
    sum += v.is_global("builtins.slice") + v.find("data").id() + (v.real() > 0);
    for (int64_t i = 0; i < std::min<int64_t>(v.size(), 100); ++i) left.push_back(v[i]);
    for (int64_t i = 0; i < std::min<int64_t>(v.pairs(), 100); ++i) {
      left.push_back(v.key(i));
      left.push_back(v.value(i));
    }
    for (const PickleValue& part : {v.callable(), v.args(), v.state()}) {
      if (!part.is(PickleKind::none)) left.push_back(part);
    }
  }
  static volatile size_t sink;  // so that nothing is optimised away
  sink = sum;
  (void)sink;
  return 0;
}
