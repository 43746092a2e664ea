// cuBLASLt as far as hone calls it: a table of functions, filled from the library or by a library
// that is emulated. Names, arguments and values are those of NVIDIA's cuBLAS documentation (chapter
// cuBLASLt); the toolkit's headers are not needed.
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
// Their bits: an epilogue has several. GELU is the one by tanh; DGELU multiplies by its slope at AUX, and BGRAD
// sums what the product makes into the bias.
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
// The type in which parts of a sum over k are added: that of the computation.
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

// The library at HONE_CUBLASLT, else the newest that the system's loader finds and that is not
// newer than this major version (0: any). Error H1345.
Result<Blas> load_blas(int newest_major = 0);

// z = x y + bias + onto of row-major matrices: x [m,k] (trans_x: [k,m]), y [k,n] (trans_y: [n,k]),
// z [m,n], bias [n], onto [m,n]. x and y have one type; sums are in f32, or in f64 for f64. gelu:
// its gelu by tanh; keeps_pre: with `pre` [m,n], that of which it is. slope: z = x y f'(pre) with the slope of that gelu;
// sums: `bias` is a result, the sums of the rows of z in its type.
struct LibraryProduct {
  cudaDataType type, result;
  bool trans_x = false, trans_y = false, has_bias = false, has_onto = false;
  bool gelu = false, keeps_pre = false;
  bool slope = false, sums = false;
  int64_t m = 0, n = 0, k = 0, batches = 1;
  // Elements from a row to the next of x, y and z as they are stored; 0: those of a row. One matrix.
  int64_t step_x = 0, step_y = 0, step_z = 0;
  int64_t workspace_bytes = 0;  // that may be used
  int64_t alignment = 1;        // of all addresses, in bytes

  std::string text() const;  // one for each product: "bf16 f32 n t 512 x 768 x 3072 ..."
};

// The algorithms of products, kept in a file: what is chosen once is used again, so a run that is
// resumed has the same bits. One for each GPU and version of the library.
class Algorithms {
 public:
  // In memory alone.
  Algorithms() = default;
  // Reads the file and skips incomplete lines. New entries are appended.
  explicit Algorithms(std::string path);
  const cublasLtMatmulAlgo_t* find(const std::string& product) const;
  void add(const std::string& product, const cublasLtMatmulAlgo_t& algorithm);

 private:
  std::string path_;
  std::map<std::string, cublasLtMatmulAlgo_t, std::less<>> all_;
};

class LtHandle {
 public:
  static Result<LtHandle> open(const Blas& blas);
  const Blas& blas() const { return *blas_; }
  cublasLtHandle_t get() const { return handle_.get(); }
  std::string version() const;  // "13.1.0"

 private:
  std::shared_ptr<const Blas> blas_;
  std::shared_ptr<cublasLtContext> handle_;
};

class LtProduct;
// Seconds of a product with its algorithm on the device.
using ProductTimer = std::function<Result<double>(const LtProduct&)>;

// A product whose algorithm is chosen: the one that is kept, else the fastest by `timer` of those
// that the library proposes, or its first without a timer. Error H1342: the library has none.
class LtProduct {
 public:
  static Result<LtProduct> make(const LtHandle& handle, const LibraryProduct& p, Algorithms& kept,
                                const ProductTimer& timer = {});
  // The operands of a product; null: it has no such operand. `bias` is written if the product sums.
  struct Operands {
    const void *x = nullptr, *y = nullptr, *bias = nullptr, *onto = nullptr;
    void *z = nullptr, *pre = nullptr, *workspace = nullptr;
  };
  static constexpr int kCandidates = 12;  // that a timer is asked for
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
