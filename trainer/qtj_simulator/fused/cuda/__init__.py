"""The fused engine on a GPU: the same plan, by kernels that are compiled for the card at run time.

    compiler   the kernels in `native/`, compiled by NVRTC
    driver     the CUDA driver: a card, its memory, its kernels, and what they are given
    tables     where everything is in a packed program; angles from symbols, and back
    engine     values and gradients of one plan; the memory that it holds, and how many examples fit
    trust      a card is compared with the processor before its first use
    on_card    an engine on a card, with the one on the processor behind it

Nothing of this is imported where no card is asked for.
"""
