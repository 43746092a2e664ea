// The suite that every backend is linked with: each case of tests/ops is run on the backend and
// compared with the same op, decomposed, on the oracle in f64.
//
//   ConformanceReport r = run_conformance(my_backend(), reference_backend(), folder);
//   EXPECT_TRUE(r.failures.empty()) << r.text();
//
// For every case: guard bytes around every buffer and operands that must stay (always); written in
// place, which must give the same bits; and, where the op has one, onto an accumulator, in place
// and not.
#pragma once

#include "engine/device/cases.h"

namespace hone {

struct ConformanceReport {
  int checks = 0;
  std::vector<std::string> failures;  // "linear.case:7 linear: output 0 differs by ..."
  std::vector<std::string> declined;  // "gate.case:3 gate: <the backend's reason>"
  std::string text() const;           // all of it, failures first
};

// `only`: an op's name, or "" for all; then every op of the catalogue must have a case.
ConformanceReport run_conformance(const Backend& backend, const Backend& oracle,
                                  const std::string& folder, const std::string& only = "");
// For a backend that is opened with several numbers of threads: all must give the same bits.
ConformanceReport run_conformance(std::span<const std::unique_ptr<Backend>> backends,
                                  const Backend& oracle, const std::string& folder,
                                  const std::string& only = "");

// Each op's gradient against central finite differences of the op, both on the oracle in f64.
ConformanceReport check_gradients(const Backend& oracle, const std::string& folder,
                                  const std::string& only = "");

}  // namespace hone
