// A test program whose states have the home `home`, which may be the host or the disk.
#pragma once

#include <stdexcept>
#include <vector>

#include "engine/graph/text.h"
#include "engine/ops/ops.h"

namespace hone {

inline constexpr int kStates = 5;
inline constexpr size_t kCount = 50'000;

// A program that adds input x to each of kStates states of kCount elements. A state is copied to the device while the
// program adds x to the state before it, and is copied back while the program adds x to the states after it.
inline Program step(Space home) {
  std::string text = fmt::format("program step\ninput \"x\" %0 : f32[{}]\n", kCount);
  for (int s = 0; s < kStates; ++s)
    text += fmt::format("state \"m{0}\" %{1} : f32[{2}] {{role=\"moment\", home=\"{3}\"}}\n", s,
                        s + 1, kCount, name_of(home));
  int last = kStates;
  const auto emit = [&](const std::string& op) {
    text += fmt::format("  %{} : f32[{}] = {}\n", ++last, kCount, op);
    return last;
  };
  const auto copy = [&](int v, Space from, Space to) {
    if (from == to) return v;
    return emit(fmt::format("copy(%{}) {{to=\"{}\"}} lane {}", v, name_of(to),
                            name_of(lane_between(from, to))));
  };
  const auto wait = [&](int v) {
    return home == Space::device ? v : emit(fmt::format("wait(%{})", v));
  };
  std::vector<int> brought, back;
  brought.push_back(copy(1, home, Space::device));
  for (int s = 0; s < kStates; ++s) {
    if (s >= 2) back[static_cast<size_t>(s) - 2] = wait(back[static_cast<size_t>(s) - 2]);
    if (s + 1 < kStates) brought.push_back(copy(s + 2, home, Space::device));
    const int sum = emit(fmt::format("add(%{}, %0)", wait(brought[static_cast<size_t>(s)])));
    back.push_back(copy(sum, Space::device, home));
  }
  for (size_t s = kStates - 2; s < kStates; ++s) back[s] = wait(back[s]);
  for (int s = 0; s < kStates; ++s)
    text += fmt::format("next %{} = %{}\n", s + 1, back[static_cast<size_t>(s)]);
  Result<Program> p = parse_program(text, op_table());
  if (!p) throw std::runtime_error(p.error().text());
  return std::move(*p);
}

}  // namespace hone
