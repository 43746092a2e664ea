// The part of cuBLASLt, NVIDIA's library of matrix products, that hone calls: a table of functions,
// filled from the library or by an emulated library. Names, arguments and values are those of NVIDIA's
// cuBLAS documentation (chapter cuBLASLt); the toolkit's headers are not needed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "engine/backends/cuda/libraries/driver.h"

namespace hone::cuda {

enum cublasStatus_t : int {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};
enum cudaDataType : int { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
enum cublasComputeType_t : int { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70 };
enum cublasLtMatmulDescAttributes_t : int {
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE = 13,
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26,
};
// Bits that an epilogue combines. BIAS adds a bias. GELU applies the tanh form of gelu. AUX writes the matrix before
// GELU to a further matrix. DGELU reads this further matrix, and multiplies the product by the derivative of gelu at
// its elements. BGRAD writes the sums of the result over its rows to the bias pointer.
enum cublasLtEpilogue_t : int {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_BGRAD = 16,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_DGELU = 64,
  CUBLASLT_EPILOGUE_AUX = 128,
};
enum cublasOperation_t : int { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasLtMatrixLayoutAttribute_t : int {
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
};
enum cublasLtMatmulPreferenceAttributes_t : int {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
};
// Partial sums over k are added in the type of the computation.
constexpr uint32_t CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2;
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};
enum libraryPropertyType : int { MAJOR_VERSION = 0, MINOR_VERSION = 1, PATCH_LEVEL = 2 };
using cublasLtHandle_t = struct cublasLtContext*;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque_t*;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque_t*;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque_t*;

struct Blas {
#define HONE_BLAS(name, arguments) cublasStatus_t(*name) arguments = nullptr;
#include "engine/backends/cuda/libraries/blas.def"
#undef HONE_BLAS
};

// Loads the library at the path in the environment variable HONE_CUBLASLT, else the newest version that the system's
// loader finds. newest_major: major versions above it are skipped; 0: no version is skipped. Error H1345: the library
// is missing or lacks a function.
Result<Blas> load_blas(int newest_major = 0);

// A matrix product z = x y + bias + onto of row-major matrices: x [m,k] (trans_x: [k,m]), y [k,n]
// (trans_y: [n,k]), z [m,n], bias [n], onto [m,n]. Sums over k are in f32, or in f64 if x is f64.
struct LibraryProduct {
  cudaDataType type, result;  // type: of x and y. result: of z, bias, onto and pre
  bool trans_x = false, trans_y = false, has_bias = false, has_onto = false;
  // gelu: z is gelu (its tanh form) of x y + bias. keeps_pre: x y + bias, before the gelu, is written to `pre` [m,n].
  bool gelu = false, keeps_pre = false;
  // slope: z = (x y) * gelu'(pre), with the derivative of the tanh form; `pre` [m,n] is read. sums: `bias` is not read
  // but written, with the sums [n] of z over its rows.
  bool slope = false, sums = false;
  int64_t m = 0, n = 0, k = 0, batches = 1;
  // Elements from a row of x, y and z to the next, as the matrix is stored; 0: rows without gaps. For batches == 1.
  int64_t step_x = 0, step_y = 0, step_z = 0;
  int64_t workspace_bytes = 0;  // limit for the workspace
  int64_t alignment = 1;        // every address is a multiple of this number of bytes

  // A key that differs for every product: "14 0 nt 512 x 768 x 3072 by 1, ..." (type, result, n or t for trans_x and
  // trans_y, m x k x n, batches, options).
  std::string text() const;
};

// The chosen algorithms of products, by LibraryProduct::text(). They are kept in a file and used again, so
// a resumed run has the same bits. A file is for one GPU model and one version of the library.
class Algorithms {
 public:
  // Keeps the algorithms in memory only.
  Algorithms() = default;
  // Reads the file and skips incomplete lines. add() appends to the file.
  explicit Algorithms(std::string path);
  const cublasLtMatmulAlgo_t* find(const std::string& product) const;  // null: none is kept
  // A file that cannot be written is logged, and is not an error.
  void add(const std::string& product, const cublasLtMatmulAlgo_t& algorithm);

 private:
  std::string path_;
  std::map<std::string, cublasLtMatmulAlgo_t, std::less<>> all_;
};

// A handle of the library for the current CUDA context. Copies share the handle; the last one destroys it.
class LtHandle {
 public:
  // Error H1342: cublasLtCreate fails.
  static Result<LtHandle> open(const Blas& blas);
  const Blas& blas() const { return *blas_; }
  cublasLtHandle_t get() const { return handle_.get(); }
  std::string version() const;  // "13.1.0"

 private:
  std::shared_ptr<const Blas> blas_;
  std::shared_ptr<cublasLtContext> handle_;
};

class LtProduct;
// Runs a product with its algorithm on the GPU and returns the seconds that it takes.
using ProductTimer = std::function<Result<double>(const LtProduct&)>;

// A product with a chosen algorithm.
class LtProduct {
 public:
  // Chooses the algorithm: the one in `kept`; else the fastest of the library's proposals by `timer`, or its first
  // proposal if there is no timer. Adds the choice to `kept`. Error H1342: the library fails, or has no algorithm.
  static Result<LtProduct> make(const LtHandle& handle, const LibraryProduct& p, Algorithms& kept,
                                const ProductTimer& timer = {});
  // Device addresses; null for operands and results that the product does not have. `bias` is written if
  // LibraryProduct::sums is set.
  struct Operands {
    const void *x = nullptr, *y = nullptr, *bias = nullptr, *onto = nullptr;
    void *z = nullptr, *pre = nullptr, *workspace = nullptr;
  };
  static constexpr int kCandidates = 12;  // the most proposals that are timed
  // Puts the product into the stream and returns at once.
  cublasStatus_t run(CUstream stream, const Operands& o) const;
  const LibraryProduct& product() const { return p_; }
  const cublasLtMatmulAlgo_t& algorithm() const { return algorithm_; }

 private:
  Result<cublasLtMatmulAlgo_t> choose(const ProductTimer& timer);

  LtHandle handle_;
  LibraryProduct p_;
  std::shared_ptr<cublasLtMatmulDescOpaque_t> desc_;
  std::shared_ptr<cublasLtMatrixLayoutOpaque_t> a_, b_, d_;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace hone::cuda
