// Any text as a policy and as saved rows: what is accepted is written and read again.
#include "base/core/error.h"
#include "operate/registry/evaluation.h"
#include "operate/registry/policy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto policy = parse_policy(text, "policy.json"); policy.ok()) {
    const auto again = parse_policy(dump_json(policy->json()), "again");
    HONE_BUG_IF(!again.ok() || dump_json(again->json()) != dump_json(policy->json()),
                "a policy changes");
  }
  if (const auto rows = parse_examples(text, "rows"); rows.ok())
    for (const EvaluatedRow& row : *rows)
      HONE_BUG_IF(row.id.empty() || !row.scores.is_object(), "a row without an id");
  return 0;
}
