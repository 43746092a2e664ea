// The test suite of every backend: runs each case of tests/ops on the backend and compares the
// results with those of the oracle, which runs the decomposition of the op in f64.
//   ConformanceReport r = run_conformance(my_backend(), reference_backend(), folder);
//   EXPECT_TRUE(r.failures.empty()) << r.text();
// Every case has guard bytes around each buffer, and operands that must not change. It runs twice:
// with results in new buffers, and written in place, which must give the same bits. If the op can
// add to an accumulator, both runs are repeated with one.
#pragma once

#include "engine/device/cases.h"

namespace hone {

struct ConformanceReport {
  int checks = 0;
  std::vector<std::string> failures;  // "linear.case:7 linear: output 0 differs by ..."
  std::vector<std::string> declined;  // "gate.case:3 gate: <the backend's reason>"
  std::string text() const;           // the whole report, failures first
};

// A sample for slow backends: the cases of each op whose number is `first` modulo `every`.
struct CaseSample {
  int every = 1, first = 0;
};

// `only`: the name of an op; "": all ops, and every op of the catalogue must have a case.
ConformanceReport run_conformance(const Backend& backend, const Backend& oracle,
                                  const std::string& folder, const std::string& only = "",
                                  CaseSample sample = {});
// For backends that are opened with different numbers of threads: all must give the same bits.
ConformanceReport run_conformance(std::span<const std::unique_ptr<Backend>> backends,
                                  const Backend& oracle, const std::string& folder,
                                  const std::string& only = "");

// Compares each op's gradient with central finite differences of the op, both on the oracle in f64, at
// about `elements` elements of each input.
ConformanceReport check_gradients(const Backend& oracle, const std::string& folder,
                                  const std::string& only = "", size_t elements = 24);

}  // namespace hone
