#include "learn/harness/budget/shown_program.h"

#include <algorithm>

#include "base/core/text.h"
#include "engine/device/lower.h"

namespace hone {
namespace {

// "step.512+128": the kind, and the sizes where the name has them.
std::string kind_of_program(const std::string& program) {
  return program.substr(0, program.find('.'));
}

// The shapes of the run, with the sizes that were asked for.
void choose_sizes(const ProgramWanted& w, RunShapes& shapes) {
  std::vector<std::string> sizes;
  if (const size_t dot = w.name.find('.'); dot != std::string::npos)
    sizes = split(w.name.substr(dot + 1), '+');
  for (BatchGrid* grid : {&shapes.train, &shapes.eval})
    for (BatchShape& shape : grid->shapes) {
      for (size_t a = 0; a + 1 < shape.axes.size(); ++a) {
        if (w.tokens > 0) shape.axes[a].size = w.tokens;
        if (a < sizes.size())
          if (const int64_t size = std::atoll(sizes[a].c_str()); size > 0)
            shape.axes[a].size = size;
      }
      if (w.slots > 0) shape.axes.back().size = w.slots;
    }
}

}  // namespace

Result<FoundProgram> find_program(const TaskModel& m, const ProgramWanted& wanted) {
  const std::string kind = kind_of_program(wanted.name);
  const TaskSettings& run = m.settings();
  const bool whole = kind == "step";
  const int64_t rows =
      kind == "eval" ? run.per_device_eval_batch_size : run.per_device_train_batch_size;
  const int64_t row_tokens = m.form.limits[0].tokens;
  RunShapes shapes = shapes_without_data(m, row_tokens, rows, whole, true, true);
  choose_sizes(wanted, shapes);
  FoundProgram found;
  for (RunProgram& p : HONE_TRY(list_programs(m, shapes))) {
    if (p.program.name == wanted.name || kind_of_program(p.program.name) == wanted.name) {
      found.program = std::move(p);
      return found;
    }
    found.names.push_back(p.program.name);
  }
  shapes = shapes_without_data(m, row_tokens, rows, !whole, true, false);
  for (const RunProgram& p : HONE_TRY(list_programs(m, shapes)))
    found.names.push_back(p.program.name);
  return found;
}

RunProgram cached_program(const ModelConfig& config, const ProgramWanted& wanted) {
  const bool two_sides = family_of(config).encoder != nullptr;
  CacheLimits limits;
  limits.rows = wanted.slots;
  limits.tokens = config.max_positions;
  if (two_sides) {
    limits.sources = wanted.slots;
    limits.longest_source = config.max_positions;
  }
  const CachedShape shape{wanted.name == "decode" ? wanted.slots : wanted.tokens,
                          wanted.slots,
                          limits.pages(),
                          limits.page,
                          limits.blocks(),
                          limits.sources * limits.source_blocks(),
                          limits.source_blocks(),
                          two_sides && wanted.name == "prefill"};
  return {build_cached_program(config, shape, wanted.name), forward_pipeline()};
}

std::vector<std::string> stages_of(const RunProgram& p) {
  std::vector<std::string> names = {"build"};
  for (const Pass& pass : p.passes) names.push_back(pass.name);
  names.push_back("lower");
  return names;
}

Result<std::vector<PassRecord>> run_until(RunProgram& p, const std::string& after,
                                          const std::set<std::string>& off,
                                          const Backend& backend) {
  std::vector<PassRecord> records;
  if (after == "build") return records;
  std::vector<Pass>& passes = p.passes;
  const auto last = std::find_if(passes.begin(), passes.end(),
                                 [&](const Pass& pass) { return pass.name == after; });
  if (last != passes.end()) passes.erase(last + 1, passes.end());
  PassOptions options;
  options.off = off;
  records = HONE_TRY(run_passes(p.program, passes, options));
  if (after == "lower") p.program = HONE_TRY(lower(p.program, backend));
  return records;
}

}  // namespace hone
