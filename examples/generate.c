/* Continues prompts with a model:  generate MODEL PROMPT...
 * cc generate.c $(pkg-config --cflags --libs hone) -o generate */
#include <hone.h>
#include <stdio.h>

int main(int argc, char **argv) {
  hone_model *model = argc > 2 ? hone_open(argv[1], NULL) : NULL;
  if (!model) return fprintf(stderr, "generate MODEL PROMPT...\n%s\n", hone_error()), 1;
  int32_t ids[8];
  printf("the first prompt has %lld tokens\n", (long long)hone_tokenize(model, argv[2], ids, 8));
  hone_batch *batch = hone_generate_text(model, (const char *const *)argv + 2, argc - 2,
                                         "{\"max_new_tokens\": 12, \"do_sample\": false}");
  if (!batch) fprintf(stderr, "%s\n", hone_error());
  for (int64_t i = 0; batch && i < hone_batch_size(batch); ++i)
    printf("%s%s\n", argv[2 + i], hone_batch_text(batch, i));
  const int status = batch ? 0 : 1;
  hone_batch_free(batch);
  hone_close(model);
  return status;
}
