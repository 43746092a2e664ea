// The test suite of every backend: runs each case of tests/ops on the backend and compares the
// results with those of the oracle, which runs the decomposition of the op in f64.
//   ConformanceReport r = run_conformance(my_backend(), reference_backend(), folder);
//   EXPECT_TRUE(r.failures.empty()) << r.text();
// Each buffer has guard bytes around it, and a kernel must not change an operand, except by writing a result over it
// (interpret.h). Each case runs twice: with results in new buffers, and with results over operands; both must give the
// same bits. If the op can add to an accumulator, both runs are repeated with an accumulator.
#pragma once

#include "engine/device/cases.h"

namespace hone {

struct ConformanceReport {
  int checks = 0;                     // number of runs
  std::vector<std::string> failures;  // "linear.case:7 linear: output 0 differs by ..."
  std::vector<std::string> declined;  // "gate.case:3 gate: <the backend's reason>"
  std::string text() const;           // the whole report, failures first
};

// A sample of the cases, for slow backends: case i of each op runs if i % every == first. Default: all cases.
struct CaseSample {
  int every = 1, first = 0;
};

// Runs the cases of the folder. `only`: the name of the op to test; "": all ops, and an op without a case is a failure.
ConformanceReport run_conformance(const Backend& backend, const Backend& oracle,
                                  const std::string& folder, const std::string& only = "",
                                  CaseSample sample = {});
// Tests one backend that was opened several times with different numbers of threads: all must give the same bits.
ConformanceReport run_conformance(std::span<const std::unique_ptr<Backend>> backends,
                                  const Backend& oracle, const std::string& folder,
                                  const std::string& only = "");

// Compares each op's gradient with central finite differences of the op, for about `elements` elements of each operand.
// Both are computed by the oracle in f64.
ConformanceReport check_gradients(const Backend& oracle, const std::string& folder,
                                  const std::string& only = "", size_t elements = 24);

}  // namespace hone
