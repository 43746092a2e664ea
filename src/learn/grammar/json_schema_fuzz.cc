// Any schema: an Error with text, or an automaton in which random bytes never lead to a place from
// which no document can be finished. The first byte seeds the choice of bytes.
#include "learn/grammar/json_schema.h"
#include "learn/grammar/matcher.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  OrderedJson schema;
  JsonRules rules;
  rules.max_depth = 32;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (parse_json(text, rules, schema)) return 0;
  const auto automaton = schema_automaton(schema);
  if (!automaton.ok()) {
    HONE_BUG_IF(automaton.error().text().empty(), "an error without text");
    return 0;
  }
  Matcher m(*automaton);
  int32_t at = m.state_of(m.begin());
  uint32_t random = data[0];
  std::string document;
  for (int i = 0; i < 64 && m.work() < 100000; ++i) {
    const Matcher::Ways ways = m.ways(at);
    if (Matcher::over(ways)) break;
    int32_t next = Matcher::kDead;
    for (int tries = 0; next == Matcher::kDead && tries < 512; ++tries) {
      random = random * 1664525 + 1013904223;
      const auto byte = static_cast<uint8_t>(tries < 256 ? random >> 24 : tries - 256);
      next = m.next(at, byte);
      if (next != Matcher::kDead) document += static_cast<char>(byte);
    }
    HONE_BUG_IF(next == Matcher::kDead, "no byte continues {}", document);
    at = next;
  }
  OrderedJson value;
  rules = {};
  rules.strict = true;
  HONE_BUG_IF(Matcher::whole(m.ways(at)) && parse_json(document, rules, value),
              "a whole document is not JSON: {}", document);
  return 0;
}
