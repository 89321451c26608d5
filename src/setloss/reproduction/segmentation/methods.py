"""temporary"""
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, softmax
from setloss.nn import set_loss

def ours(loss, operator, margins, w=0.0, over="image", absent="keep", scale="mean", T=1.0):
    def binary(h, y):
        h = h.squeeze(1); t = y == 1
        s = h.sigmoid() - (~t).float() if margins == "prob" else h
        v = set_loss(s, t, loss=loss, operator=operator, scale=scale, over=over, absent=absent)
        return v + w * binary_cross_entropy_with_logits(h, t.float()) if w else v
    def multi(h, y):
        C = h.shape[1]; ok = y >= 0; yy = y.clamp(min=0)
        t = torch.nn.functional.one_hot(yy, C).movedim(-1, 1).bool()
        if margins == "prob": s = softmax(h, 1) - (~t).float()
        elif margins == "logits": s = h
        else:
            rival = h.masked_fill(t, -1e9).amax(1, keepdim=True); own = h.gather(1, yy.unsqueeze(1))
            s = T * (h - torch.where(t, rival, own))
        okk = ok.unsqueeze(1).expand_as(t)
        if over == "image":
            r = lambda a: a.flatten(0, 1).flatten(1)
        else:
            r = lambda a: a.movedim(1, 0).flatten(1)
        v = set_loss(r(s), r(t), loss=loss, operator=operator, scale=scale, mask=r(okk), absent=absent)
        return v + w * cross_entropy(h, y, ignore_index=-1) if w else v
    return binary, multi

def soft_dice(h, y):
    p, t = h.squeeze(1).sigmoid().flatten(1), (y == 1).float().flatten(1)
    return (1 - 2 * (p * t).sum(1) / (p.sum(1) + t.sum(1)).clamp(min=1e-6)).mean()

def soft_dice_batch(h, y):
    p, t = h.sigmoid().flatten(), (y == 1).float().flatten()
    return 1 - 2 * (p * t).sum() / (p.sum() + t.sum()).clamp(min=1e-6)

def soft_dice_multi(h, y, over="batch"):
    ok = (y >= 0).unsqueeze(1); t = torch.nn.functional.one_hot(y.clamp(min=0), h.shape[1]).movedim(-1, 1) * ok
    p = softmax(h, 1) * ok
    dims = (0, 2, 3) if over == "batch" else (2, 3)
    d = (1 - (2 * (p * t).sum(dims) + 1e-5) / (p.sum(dims) + t.sum(dims) + 1e-5))
    return d.mean()

def bce(h, y): return binary_cross_entropy_with_logits(h.squeeze(1), (y == 1).float())
def ce(h, y): return cross_entropy(h, y, ignore_index=-1)
L = ("jaccard", "lovasz"); BM = ("dice", "bd-monotone"); S = ("dice", "slack")
M = {
 "ce": (bce, ce),
 "softdice": (soft_dice, soft_dice_multi),
 "ce+softdice": (lambda h, y: bce(h, y) + soft_dice(h, y), lambda h, y: ce(h, y) + soft_dice_multi(h, y)),
 "ce+softdice-image": (None, lambda h, y: ce(h, y) + soft_dice_multi(h, y, "image")),
 "ce+softdice-batch": (lambda h, y: bce(h, y) + soft_dice_batch(h, y), None),
 "L": ours(*L, "logits"), "Lp": ours(*L, "prob"), "Lp-batch": ours(*L, "prob", over="batch", absent="skip"),
 "ce+L": ours(*L, "logits", 1.), "ce+Lp": ours(*L, "prob", 1.), "ce+Lp.5": ours(*L, "prob", .5),"ce+Lp2": ours(*L, "prob", 2.),
 "ce+Lp-skip": ours(*L, "prob", 1., absent="skip"),
 "ce+Lp-batch": ours(*L, "prob", 1., over="batch"),
 "ce+Lp-batch-skip": ours(*L, "prob", 1., over="batch", absent="skip"),
 "BM": ours(*BM, "logits"), "ce+BM": ours(*BM, "logits", 1.), "ce+BMp": ours(*BM, "prob", 1.), "ce+BMp.5": ours(*BM, "prob", .5),
 "S": ours(*S, "logits"), "ce+Sp": ours(*S, "prob", 1.),
 "Largmax": ours(*L, "argmax"), "ce+Largmax": ours(*L, "argmax", 1.), "ce+Largmax-batch-skip": ours(*L, "argmax", 1., over="batch", absent="skip"),
 "ce+Largmax-T.3-batch-skip": ours(*L, "argmax", 1., over="batch", absent="skip", T=.3),
}
def criterion(name, classes): return M[name][0 if classes == 1 else 1]
