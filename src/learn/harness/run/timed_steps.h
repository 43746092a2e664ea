// Steps of a run that are timed, and rows for them: hone bench.
#pragma once

#include "engine/session/xplane.h"
#include "learn/harness/examples.h"

namespace hone {

// Times of steps and their parts.
struct TimedSteps {
  std::vector<double> seconds, losses;
  std::vector<int64_t> tokens;
  Profile profile;
  std::vector<ProfiledStep> in_profile;
  bool profiled = false;  // all steps but the first

  // Takes the steps 0 .. count - 1 and logs each. Errors: those of `take`.
  Status run(Session& session, int64_t count, FunctionRef<Result<StepSums>(int64_t step)> take);
};

struct BlockShape {
  int64_t rows = 0, tokens = 0;  // of each row
  int64_t vocab = 0;
};
// Rows of one length from the column "ids" of a data file, filled up with zeros; without a file,
// ids of a fixed pattern. Errors: those of the file.
Result<ExampleRows> read_blocks(const std::string& file, const BlockShape& shape);

// The work of a step as benchmarks count it: without attention's backward pass and recomputed
// values.
double benchmark_flops(const Program& step);

}  // namespace hone
