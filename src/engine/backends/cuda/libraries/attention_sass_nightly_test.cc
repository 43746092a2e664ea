// The instructions of attention's kernels for 9.0, from the disassembler cuobjdump (CUDA toolkit, or the wheels
// nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm; HONE_CUOBJDUMP names it).
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "engine/backends/cuda/libraries/compile.h"

namespace hone::cuda {
namespace {

struct Instruction {
  uint64_t at;
  std::string text;  // "@!P0 BRA 0x4f0"
  bool is(std::string_view name) const { return text.find(name) != text.npos; }
};
using Sass = std::map<std::string, std::vector<Instruction>>;  // by kernel

// From lines such as "        /*0a90*/               @P0 BRA 0xb20 ;   /* 0x... */".
Sass read_sass(std::istream& in) {
  Sass all;
  std::vector<Instruction>* now = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (const size_t at = line.find("Function : "); at != line.npos)
      now = &all[line.substr(at + 11)];
    const size_t open = line.find("/*"), close = line.find("*/"), end = line.find(';');
    if (now == nullptr || close == line.npos || end == line.npos || end < close) continue;
    const size_t text = line.find_first_not_of(' ', close + 2);
    now->push_back(
        {std::strtoull(line.c_str() + open + 2, nullptr, 16), line.substr(text, end - text)});
  }
  return all;
}

Sass disassemble(const std::string& cubin) {
  const char* given = std::getenv("HONE_CUOBJDUMP");
  const std::filesystem::path tool = given != nullptr ? given : "/usr/local/cuda/bin/cuobjdump";
  const std::string base = testing::TempDir() + "hone_attention";
  std::ofstream(base + ".cubin", std::ios::binary) << cubin;
  const std::string command = "PATH=\"$PATH:" + tool.parent_path().string() + "\" '" +
                              tool.string() + "' -sass " + base + ".cubin > " + base +
                              ".sass 2> /dev/null";
  Sass all;
  if (std::system(command.c_str()) == 0) {
    std::ifstream in(base + ".sass");
    all = read_sass(in);
  }
  for (const char* end : {".cubin", ".sass"}) std::filesystem::remove(base + end);
  return all;
}

// Instructions that a warp executes in a round of the loop with the last product, on the shortest way that begins
// the copies of the next tile and issues all products: neither masks nor a new maximum. 0: there is no such way.
size_t shortest_round(const std::vector<Instruction>& code, size_t copies, size_t products) {
  std::map<uint64_t, size_t> places;
  for (size_t i = 0; i < code.size(); ++i) places[code[i].at] = i;
  const auto target = [&](const Instruction& x) {
    const size_t at = x.is("BRA") ? x.text.rfind("0x") : x.text.npos;
    const auto found =
        places.find(at == x.text.npos ? ~0ull : std::strtoull(x.text.c_str() + at, nullptr, 16));
    return found == places.end() ? code.size() : found->second;
  };
  size_t last = code.size();
  for (size_t i = 0; i < code.size(); ++i)
    if (code[i].is("HGMMA")) last = i;
  size_t end = last, begin = 0;  // of the loop
  while (end < code.size() && target(code[end]) >= last) ++end;
  if (end >= code.size()) return 0;
  begin = target(code[end]);
  // Ways end at instruction i after these counts of copies and products; jumps back make a tile again.
  std::map<std::array<size_t, 3>, size_t> ways{{{begin, 0, 0}, 0}};
  size_t best = 0;
  while (!ways.empty()) {
    const auto [state, length] = *ways.begin();
    ways.erase(ways.begin());
    const auto [i, copied, multiplied] = state;
    const Instruction& x = code[i];
    const size_t c = std::min(copies, copied + x.is("LDGSTS")),
                 p = std::min(products, multiplied + x.is("HGMMA"));
    if (i == end) {
      if (c == copies && p == products && (best == 0 || length + 1 < best)) best = length + 1;
      continue;
    }
    const auto go = [&](size_t to) {
      if (to <= i || to > end) return;
      const auto [way, is_new] = ways.try_emplace({to, c, p}, length + 1);
      if (!is_new) way->second = std::min(way->second, length + 1);
    };
    const size_t jump = target(x);
    if (jump < code.size()) go(jump);
    const bool always = jump < code.size() && x.text.starts_with("BRA 0x");
    if (!always && !x.is("EXIT")) go(i + 1);
  }
  return best;
}

TEST(AttentionSass, ATileOfTheForwardPass) {
  const Result<KernelCompiler> nvrtc = KernelCompiler::open();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.error().text();
  const Result<KernelCompiler::Compiled> compiled = nvrtc->compile("sm_90a");
  ASSERT_TRUE(compiled.ok()) << compiled.error().text();
  const Sass all = disassemble(compiled->cubin);
  if (all.empty()) GTEST_SKIP() << "there is no cuobjdump with its nvdisasm (HONE_CUOBJDUMP)";
  size_t kernels = 0;
  for (const auto& [name, code] : all) {
    if (!name.starts_with("wg_attention_") && !name.starts_with("flash_attention_")) continue;
    ++kernels;
    for (const Instruction& x : code)
      EXPECT_FALSE(x.is("STL") || x.is("LDL")) << name << " uses local memory: " << x.text;
  }
  EXPECT_EQ(kernels, 72u);
  // A warp's 16 queries and 64 keys of 64 channels: 8 of its 16-byte copies, two products of four steps.
  for (const char* name : {"wg_attention_bf16_64", "wg_attention_f16_64"}) {
    const size_t round = shortest_round(all.at(name), 8, 8);
    EXPECT_GT(round, 150u) << name;
    EXPECT_LE(round, 400u) << name;
    RecordProperty(name, static_cast<int>(round));
  }
}

}  // namespace
}  // namespace hone::cuda
