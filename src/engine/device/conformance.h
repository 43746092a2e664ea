// The suite for every backend: runs each case of tests/ops on the backend and compares it with the
// same op, decomposed, on the oracle in f64.
//   ConformanceReport r = run_conformance(my_backend(), reference_backend(), folder);
//   EXPECT_TRUE(r.failures.empty()) << r.text();
// Every case runs with guard bytes around each buffer and operands that must not change; in place,
// with the same bits; and, if the op has one, onto an accumulator, in place and not.
#pragma once

#include "engine/device/cases.h"

namespace hone {

struct ConformanceReport {
  int checks = 0;
  std::vector<std::string> failures;  // "linear.case:7 linear: output 0 differs by ..."
  std::vector<std::string> declined;  // "gate.case:3 gate: <the backend's reason>"
  std::string text() const;           // the whole report, failures first
};

// `only`: an op's name, or "" for all; then every op of the catalogue must have a case.
ConformanceReport run_conformance(const Backend& backend, const Backend& oracle,
                                  const std::string& folder, const std::string& only = "");
// For backends that are opened with different numbers of threads: all must give the same bits.
ConformanceReport run_conformance(std::span<const std::unique_ptr<Backend>> backends,
                                  const Backend& oracle, const std::string& folder,
                                  const std::string& only = "");

// Compares each op's gradient with central finite differences of the op, both on the oracle in f64.
ConformanceReport check_gradients(const Backend& oracle, const std::string& folder,
                                  const std::string& only = "");

}  // namespace hone
