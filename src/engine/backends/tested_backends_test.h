// Chooses the backends for tests that every backend must pass.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "base/core/whole_test.h"

namespace hone {

// The backends that the variable HONE_TEST_DEVICES names, separated by commas. `make check-cuda` sets
// it to cuda, the machine's GPU.
inline std::vector<std::string> named_backends() {
  const char* named = std::getenv("HONE_TEST_DEVICES");
  std::vector<std::string> names;
  std::istringstream list(named == nullptr ? "" : named);
  for (std::string one; std::getline(list, one, ',');) names.push_back(one);
  return names;
}
// The backends of HONE_TEST_DEVICES; `usual` if it names none.
inline std::vector<std::string> tested_backends(std::vector<std::string> usual) {
  const std::vector<std::string> named = named_backends();
  return named.empty() ? usual : named;
}
// The emulated GPU; none if HONE_TEST_DEVICES names backends.
inline std::vector<std::string> emulated_backends() {
#ifdef __SANITIZE_THREAD__
  return {};  // the thread sanitizer takes memory for each wait of an emulated thread
#else
  return named_backends().empty() ? std::vector<std::string>{"cuda_emulated"}
                                  : std::vector<std::string>{};
#endif
}

using BackendCase = std::tuple<std::string, std::string>;  // case, backend
// Pairs every case of `all` with every backend of tested_backends(usual). The emulated GPU runs only
// the cases of `sample`, because it takes seconds instead of milliseconds; with tests_whole() it runs all.
inline std::vector<BackendCase> cases_on_backends(const std::vector<std::string>& all,
                                                  const std::vector<std::string>& usual,
                                                  const std::vector<std::string>& sample) {
  std::vector<BackendCase> out;
  for (const std::string& name : all)
    for (const std::string& backend : tested_backends(usual)) out.emplace_back(name, backend);
  for (const std::string& name : tests_whole() ? all : sample)
    for (const std::string& backend : emulated_backends()) out.emplace_back(name, backend);
  return out;
}
// Whether check number `number` of many runs on a backend. The emulated GPU runs one in `every` checks; with
// tests_whole() it runs all.
inline bool makes_check(std::string_view backend, size_t number, size_t every) {
  return backend != "cuda_emulated" || tests_whole() || number % every == 0;
}
inline std::string name_of_case(const BackendCase& c) {
  return std::get<0>(c) + "_" + std::get<1>(c);
}

// Whether HONE_TEST_DEVICES names the machine's GPU.
inline bool tests_a_gpu() {
  for (const std::string& name : tested_backends({}))
    if (name == "cuda") return true;
  return false;
}

}  // namespace hone
