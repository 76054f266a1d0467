"""Products of matrices inside a kernel."""

from __future__ import annotations

from tests.processes import ended, start


def test_a_process_without_kernels_compiles_one():
    """Workers do: the code calls BLAS for some shapes."""
    out, complaints = ended(
        start(
            """
            import textwrap

            from staticgrad.compiler.backend import kernel_cache

            text = '''
            from staticgrad.compiler.backend.intrinsics.matrix_products import product_f32
            from staticgrad.compiler.backend.intrinsics.vector_tiles import at

            @kernel
            def multiply(buffers, sizes, start, stop):
                a, b = f32_at(buffers, 0), f32_at(buffers, 1)
                product_f32(0, 0, sizes[0], sizes[0], sizes[0], at(a, 0), sizes[0], at(a, 0), sizes[0], 0, at(b, 0), sizes[0])
            '''
            source = kernel_cache.HEADER + textwrap.dedent(text)
            print(*kernel_cache.llvm_code(source)[0], *kernel_cache.llvm_code(source.replace("multiply", "again"))[0])
            """
        )
    )
    assert out == "multiply again\n", complaints
