// hone diff A B: the first tensor, in the order of computation, in which two files differ
// (docs/tracing.md). Exit status 1 when one does.
#include "base/core/json.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/trace/tensor_difference.h"
#include "run/commands/command.h"

namespace hone {
namespace {

struct DiffSettings {
#define HONE_SETTINGS "run/commands/diff.def"
#include "base/settings/fields.inc"
};

std::string line(const TensorDifference& d, bool differs) {
  if (!d.shapes.empty()) return fmt::format("differs  {}: shapes {}\n", d.name, d.shapes);
  return fmt::format(
      "{:<7}  {}: {:.3g} of its largest magnitude {:.6g}, at {}: {:.9g} and {:.9g}\n",
      differs ? "differs" : "agrees", d.name, d.relative, d.magnitude, text_of(d.index), d.first,
      d.second);
}

Result<int> run_diff(const std::vector<std::string>& args) {
  DiffSettings s;
  Schema schema("hone diff", "find the first tensor in which two files differ");
  s.bind(schema);
  schema.positional("first");
  schema.positional("second");
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  const std::unique_ptr<WeightSource> a = HONE_TRY(open_weights(s.first)),
                                      b = HONE_TRY(open_weights(s.second));

  int64_t compared = 0, only_first = 0;
  std::optional<TensorDifference> found;
  double largest = 0;
  std::string text;
  for (const std::string& name : names_in_order(*a)) {
    if (b->find(name) == nullptr) {
      ++only_first;
      continue;
    }
    if (found && !s.all) continue;
    const TensorDifference d = HONE_TRY(compare_tensors(*a, *b, name, s.floor));
    const bool differs = !(d.relative <= s.tolerance);
    ++compared;
    if (differs && !found) found = d;
    largest = std::max(largest, d.relative);
    if (differs || s.all) text += line(d, differs);
  }
  int64_t only_second = 0;
  for (const TensorInfo& t : b->tensors()) only_second += a->find(t.name) == nullptr;

  if (s.json) {
    OrderedJson json = {{"equal", !found.has_value()},
                        {"compared", compared},
                        {"only_in_first", only_first},
                        {"only_in_second", only_second}};
    json["first_departure"] = found ? OrderedJson{{"name", found->name},
                                                  {"relative", found->relative},
                                                  {"magnitude", found->magnitude},
                                                  {"index", found->index},
                                                  {"values", {found->first, found->second}}}
                                    : OrderedJson();
    print_out(dump_json(json) + "\n");
  } else {
    if (!found)
      text += fmt::format("agrees   {} tensors within {:.3g}; the largest difference is {:.3g}\n",
                          compared, s.tolerance, largest);
    text += fmt::format("compared {}, only in {}: {}, only in {}: {}\n", compared, s.first,
                        only_first, s.second, only_second);
    print_out(text);
  }
  return found ? kExitUserError : kExitDone;
}

}  // namespace

Command command_diff() {
  return {.name = "diff",
          .summary = "find the first tensor in which two safetensors files differ",
          .in = CommandGroup::kInspect,
          .run = run_diff};
}

}  // namespace hone
