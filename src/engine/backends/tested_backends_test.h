// Which backends a test of any of them runs on.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace hone {

// `usual`, or those that HONE_TEST_DEVICES names instead, one after another with commas: make
// check-cuda runs the tests with cuda, on the machine's GPU.
inline std::vector<std::string> tested_backends(std::vector<std::string> usual) {
  const char* named = std::getenv("HONE_TEST_DEVICES");
  if (named == nullptr || *named == '\0') return usual;
  std::vector<std::string> names;
  std::istringstream list(named);
  for (std::string one; std::getline(list, one, ',');) names.push_back(one);
  return names;
}
// The emulated GPU, unless HONE_TEST_DEVICES names others.
inline std::vector<std::string> emulated_backends() {
#ifdef __SANITIZE_THREAD__
  return {};  // each wait of an emulated thread takes it memory
#else
  const char* named = std::getenv("HONE_TEST_DEVICES");
  return named == nullptr || *named == '\0' ? std::vector<std::string>{"cuda_emulated"}
                                            : std::vector<std::string>{};
#endif
}
// The cases for it: `sample`, because it takes seconds where the others take milliseconds; `all` where
// HONE_WHOLE_TESTS is set, as in make nightly.
inline std::vector<std::string> emulated_cases(std::vector<std::string> all,
                                               std::vector<std::string> sample) {
  return std::getenv("HONE_WHOLE_TESTS") != nullptr ? all : sample;
}
// Whether the test is for the machine's GPU.
inline bool tests_a_gpu() {
  for (const std::string& name : tested_backends({}))
    if (name == "cuda") return true;
  return false;
}

}  // namespace hone
