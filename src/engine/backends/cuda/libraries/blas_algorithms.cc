// The file of chosen algorithms: one line for each product (class Algorithms of blas.h).
#include <charconv>
#include <fstream>
#include <optional>

#include "base/core/log.h"
#include "engine/backends/cuda/libraries/blas.h"

namespace hone::cuda {
namespace {

constexpr char kBetween[] = " : ";  // a product and its algorithm, which is in hexadecimal

std::optional<cublasLtMatmulAlgo_t> algorithm_of(const std::string& text) {
  constexpr size_t kDigits = 16;
  cublasLtMatmulAlgo_t a{};
  if (text.size() != std::size(a.data) * kDigits) return std::nullopt;
  for (size_t i = 0; i < std::size(a.data); ++i) {
    const char* begin = text.data() + i * kDigits;
    const auto [end, failed] = std::from_chars(begin, begin + kDigits, a.data[i], 16);
    if (failed != std::errc() || end != begin + kDigits) return std::nullopt;
  }
  return a;
}

std::string text_of(const cublasLtMatmulAlgo_t& a) {
  std::string text;
  for (const uint64_t part : a.data) text += fmt::format("{:016x}", part);
  return text;
}

}  // namespace

std::string LibraryProduct::text() const {
  const auto set = [](bool is, const char* word) { return is ? word : ""; };
  const std::string steps =
      step_x + step_y + step_z > 0 ? fmt::format("steps {} {} {} ", step_x, step_y, step_z) : "";
  return fmt::format("{} {} {}{} {} x {} x {} by {}, {}{}{}{}{}{}{}{} bytes aligned to {}",
                     static_cast<int>(type), static_cast<int>(result), trans_x ? 't' : 'n',
                     trans_y ? 't' : 'n', m, k, n, batches, set(has_bias, "bias "),
                     set(has_onto, "onto "), set(gelu, "gelu "), set(keeps_pre, "pre "),
                     set(slope, "slope "), set(sums, "sums "), steps, workspace_bytes, alignment);
}

Algorithms::Algorithms(std::string path) : path_(std::move(path)) {
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find(kBetween);
    if (at == std::string::npos) continue;
    if (const auto a = algorithm_of(line.substr(at + std::size(kBetween) - 1)))
      all_.emplace(line.substr(0, at), *a);
  }
}

const cublasLtMatmulAlgo_t* Algorithms::find(const std::string& product) const {
  const auto found = all_.find(product);
  return found == all_.end() ? nullptr : &found->second;
}

// A line is short enough to be written whole where several processes append.
void Algorithms::add(const std::string& product, const cublasLtMatmulAlgo_t& algorithm) {
  all_.insert_or_assign(product, algorithm);
  if (path_.empty()) return;
  std::ofstream file(path_, std::ios::app);
  const std::string line = product + kBetween + text_of(algorithm) + "\n";
  if (!(file << line << std::flush)) log_debug("{}: an algorithm is not kept", path_);
}

}  // namespace hone::cuda
